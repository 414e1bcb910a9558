"use strict";
(() => {
  const forms = [...document.querySelectorAll(".form")];
  const bar = document.getElementById("bar");
  const text = document.getElementById("text");
  const problem = document.getElementById("problem");
  let saved = "";

  const part = (form, name) => form.querySelector("." + name);
  const own = (form, name) => JSON.parse(form.dataset[name]);

  // JSON and TOML escape alike, but for DEL; half a surrogate pair is no text.
  const quoted = (value) => JSON.stringify(value.replace(
    /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd",
  )).replace(/\x7f/g, "\\u007f");

  const decision = (form) => ({
    name: own(form, "column"),
    tier: part(form, "tier").value,
    category: part(form, "category").value.trim(),
    reason: part(form, "reason").value.replace(/\s+/g, " ").trim(),
  });

  // All decisions as TOML, and what is still wrong with them, with its place.
  const decided = () => {
    const lines = new Map();
    let wrong = null;
    for (const form of forms) {
      const made = decision(form);
      const reason = part(form, "reason");
      const bare = made.tier !== "" && made.reason === "";
      reason.setAttribute("aria-invalid", String(bare));
      if (made.tier === "") continue;
      const category = made.category ? `category = ${quoted(made.category)}, ` : "";
      const line = `${quoted(made.name)} = { tier = ${quoted(made.tier)}, ` +
        `${category}reason = ${quoted(made.reason)} }`;
      const other = lines.get(made.name);
      if (bare) wrong = wrong || { what: "a decision has no reason", field: reason };
      else if (other !== undefined && other !== line) {
        wrong = wrong || {
          what: "a name that several tables have is decided in two ways", field: reason,
        };
      }
      lines.set(made.name, line);
    }
    return { lines: [...lines.values()], wrong };
  };

  const written = (lines) => [
    `# Decisions about columns of ${quoted(document.body.dataset.source)}.`,
    "# Write them into a configuration with:",
    "#     lexfed tag lexfed.toml --decisions decisions.toml",
    "", "[law.columns]", ...lines, "",
  ].join("\n");

  const show = () => {
    const { lines, wrong } = decided();
    const number = forms.filter((form) => part(form, "tier").value !== "").length;
    document.getElementById("count").textContent =
      `${number} of ${forms.length} decided`;
    document.getElementById("download").disabled = number === 0;
    problem.textContent = "";
    text.textContent = wrong ? "" : written(lines);
    return { lines, wrong };
  };

  const agree = (form) => {
    part(form, "tier").value = form.dataset.tier;
    part(form, "category").value = form.dataset.category;
    part(form, "reason").value = own(form, "reason");
  };

  // What was filled in by agreeing does not speak for another tier.
  const choose = (form) => {
    if (part(form, "tier").value === form.dataset.tier) return;
    if (part(form, "category").value === form.dataset.category) {
      part(form, "category").value = "";
    }
    if (part(form, "reason").value === own(form, "reason")) {
      part(form, "reason").value = "";
    }
  };

  const download = () => {
    const { lines, wrong } = show();
    if (wrong) {
      problem.textContent = wrong.what;
      wrong.field.focus();
      return;
    }
    const address = URL.createObjectURL(
      new Blob([written(lines)], { type: "application/toml" }));
    const link = document.createElement("a");
    link.href = address;
    link.download = "decisions.toml";
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
    saved = lines.join("\n");
  };

  document.addEventListener("click", (event) => {
    const form = event.target.closest(".form");
    if (event.target.matches(".agree")) agree(form);
    if (event.target.matches("#download")) return download();
    if (form) show();
  });
  document.addEventListener("change", (event) => {
    const form = event.target.closest(".form");
    if (event.target.matches(".tier")) choose(form);
    if (form) show();
  });
  window.addEventListener("beforeunload", (event) => {
    const { lines } = decided();
    if (lines.length > 0 && lines.join("\n") !== saved) event.preventDefault();
  });

  document.body.classList.add("live");
  bar.hidden = forms.length === 0;
  show();
})();
