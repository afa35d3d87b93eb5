"""What a fit leaves while it runs: its log, and a checkpoint from which a killed one goes on; knows no loss."""

from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from as2lib.paths import whole_file

LOG, CHECKPOINT = "log.jsonl", "checkpoint"  # in a fit's folder
Entry = dict[str, Any]  # of the log: step, total, the loss's parts, dev_MAP, dev_P@1, seconds


@dataclass
class Progress:
    """Where a fit stands, beside its model and optimizer.

    sums: of the loss's parts in the `batches` since the last entry of the log.  gradients: of their norms.
    best: the weights of the best dev MAP.  waited: evaluations since then.  over: whether it ended before its steps.
    """

    step: int = 0
    sums: dict[str, torch.Tensor] = field(default_factory=dict)
    gradients: float | torch.Tensor = 0.0
    batches: int = 0
    log: list[Entry] = field(default_factory=list)
    best: dict[str, torch.Tensor] | None = None
    best_step: int | None = None
    dev_MAP: float | None = None
    waited: int = 0
    over: bool = False
    seconds: float = 0.0

    def add(self, losses: Any, gradient: torch.Tensor) -> None:
        """Add a batch's loss, and the norm of its gradient, to the sums."""
        self.batches += 1
        self.gradients = self.gradients + gradient.detach()
        for name, value in losses._asdict().items():
            self.sums[name] = self.sums.get(name, 0) + value.detach().float()

    def means(self) -> Entry:
        """The mean of each part of the loss since the last entry.

        Raises ValueError where the loss or a gradient was no number: the weights are none any more.
        """
        values = {name: total / self.batches for name, total in self.sums.items()}
        for name, value in {"the loss": values["total"], "a gradient": torch.as_tensor(self.gradients)}.items():
            if not torch.isfinite(value):
                way_out = "lower learning_rate, or precision float32"
                raise ValueError(f"training diverged: {name} is {value.item()} by step {self.step}; {way_out}")
        self.sums, self.gradients, self.batches = {}, 0.0, 0
        return {name: value.tolist() for name, value in values.items()}

    def keep_best(self, dev_MAP: float, model: nn.Module) -> None:
        """Keep the weights if their dev MAP is the best so far; of equal ones the first stay."""
        self.waited += 1
        if self.dev_MAP is None or dev_MAP > self.dev_MAP:
            self.best, self.best_step = deepcopy(model.state_dict()), self.step
            self.dev_MAP, self.waited = dev_MAP, 0


def write(path: Path, identity: str, model: nn.Module, optimizer: Any, state: Progress) -> None:
    """One file with everything that the rest of a fit depends on; it replaces the one before whole."""
    content = {
        "identity": identity,
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "progress": vars(state),
        "random": torch.get_rng_state(),
        "random_cuda": torch.cuda.get_rng_state() if torch.cuda.is_available() else None,
    }
    with whole_file(path) as temporary:
        torch.save(content, temporary)


def resume(path: Path, identity: str, model: nn.Module, optimizer: Any, device: torch.device) -> Progress:
    """Where a fit goes on: at its checkpoint, to which model, optimizer and torch's generators are set; or at step 0.

    identity: the hash of all that a fit's weights come from.
    Raises ValueError where the checkpoint is of another fit.
    """
    if not path.exists():
        return Progress()
    content = torch.load(path, map_location="cpu", weights_only=True)
    if content.get("identity") != identity:
        expected = "expected the checkpoint of this fit, got one of other pairs, another model, loss or setting"
        raise ValueError(f"{path}: {expected}; remove it, or name another folder")
    model.load_state_dict(content["model"])
    optimizer.load_state_dict(content["optimizer"])
    torch.set_rng_state(content["random"])
    if content["random_cuda"] is not None and torch.cuda.is_available():
        torch.cuda.set_rng_state(content["random_cuda"])
    state = Progress(**content["progress"])
    state.sums = {name: value.to(device) for name, value in state.sums.items()}
    return state
