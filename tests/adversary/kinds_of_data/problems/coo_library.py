import torch


class Model(torch.nn.Module):
    """Coordinates of PyTorch's (COO), coalesced, times a vector."""

    def forward(self, matrix, x):
        return matrix @ x


def get_inputs():
    flat = torch.randperm(2048 * 1024)[:40000].sort().values
    places = torch.stack((flat // 1024, flat % 1024))
    return [torch.sparse_coo_tensor(places, torch.randn(40000), (2048, 1024), is_coalesced=True), torch.randn(1024)]
