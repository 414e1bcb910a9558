# SPDX-License-Identifier: Apache-2.0
"""HTML, SVG and escaping: text that becomes a page without becoming code.

`page_templates.py` renders a template, `svg.py` draws. Column names, reasons and
statements come from outside: `escaping.py` makes them harmless in HTML, Markdown and
CSV, and every new output has to pass through it.
"""
