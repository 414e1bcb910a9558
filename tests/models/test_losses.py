# SPDX-License-Identifier: Apache-2.0
import pytest
import torch

from lexfed.errors import ConfigError
from lexfed.models.losses import LOGISTIC, SOFTMAX, SQUARED, Loss

CASES = [(LOGISTIC, 1), (SOFTMAX, 4), (SQUARED, 1)]


def _rows(loss: Loss, outputs: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    logits = 5 * torch.randn(40, outputs, generator=generator, dtype=torch.float64)
    classes = outputs if loss is SOFTMAX else 2
    return logits, torch.randint(classes, (40,), generator=generator).double()


@pytest.mark.parametrize(("loss", "outputs"), CASES)
def test_slope_is_the_derivative_of_value(loss: Loss, outputs: int) -> None:
    logits, targets = _rows(loss, outputs)
    logits.requires_grad_()
    (expected,) = torch.autograd.grad(loss.value(logits, targets).sum(), logits)
    torch.testing.assert_close(loss.slope(logits.detach(), targets), expected)


@pytest.mark.parametrize(("loss", "outputs"), CASES)
def test_a_row_does_not_see_the_others(loss: Loss, outputs: int) -> None:
    logits, targets = _rows(loss, outputs)
    for dtype in (torch.float32, torch.float64):
        whole = loss.slope(logits.to(dtype), targets.to(dtype))
        for size in (1, 3, 16, 17, 39):
            part = loss.slope(logits[:size].to(dtype), targets[:size].to(dtype))
            assert torch.equal(part, whole[:size])
    before = loss.slope(logits, targets)
    logits[1:] = float("nan")
    assert torch.equal(loss.slope(logits, targets)[0], before[0])


@pytest.mark.parametrize(("loss", "outputs"), CASES[:2])
@pytest.mark.parametrize("size", [0.0, 1e3, 1e30])
def test_slopes_of_class_losses_are_bounded_by_one(
    loss: Loss, outputs: int, size: float
) -> None:
    logits, targets = _rows(loss, outputs)
    assert loss.slope(logits * size, targets).abs().max() <= 1


@pytest.mark.parametrize(("loss", "outputs"), CASES)
def test_prediction_minus_target_is_the_slope(loss: Loss, outputs: int) -> None:
    logits, targets = _rows(loss, outputs)
    wanted = targets.unsqueeze(1)
    if loss is SOFTMAX:
        wanted = torch.nn.functional.one_hot(targets.long(), outputs).double()
    slope = loss.slope(logits, targets)
    torch.testing.assert_close(slope, loss.predict(logits) - wanted)


@pytest.mark.parametrize(
    ("loss", "outputs"), [(LOGISTIC, 2), (SQUARED, 3), (SOFTMAX, 1)]
)
def test_outputs_that_do_not_fit_are_refused(loss: Loss, outputs: int) -> None:
    with pytest.raises(ConfigError, match=f"{loss.name} loss needs"):
        loss.check_outputs(outputs)


@pytest.mark.parametrize(("loss", "outputs"), CASES)
def test_outputs_that_fit_pass(loss: Loss, outputs: int) -> None:
    loss.check_outputs(outputs)
    with pytest.raises(ConfigError):
        loss.check_outputs(0)
