import torch


def _make_inputs(rows: int, width: int) -> dict[str, torch.Tensor]:
    y = torch.randn(rows, width, device="cuda")
    x = torch.randn(rows, width, device="cuda") * 0.5
    return {"y": y, "x": x}
