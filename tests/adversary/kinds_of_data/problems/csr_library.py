import torch


class Model(torch.nn.Module):
    """A sparse matrix in rows (CSR), as a tensor of PyTorch's, times a dense one."""

    def forward(self, matrix, x):
        return matrix @ x


def get_inputs():
    flat = torch.randperm(2048 * 1024)[:40000].sort().values
    starts = torch.searchsorted(flat // 1024, torch.arange(2049))
    return [torch.sparse_csr_tensor(starts, flat % 1024, torch.randn(40000), (2048, 1024)), torch.randn(1024, 32)]
