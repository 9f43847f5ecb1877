import torch


def _make_inputs(rows: int) -> dict[str, torch.Tensor]:
    return {"x": torch.randn(rows, 128, device="cuda"), "y": torch.randn(rows, 128, device="cuda")}
