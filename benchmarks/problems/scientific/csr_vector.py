"""A sparse matrix in rows (CSR) times a vector, by PyTorch's library."""

import torch


class Model(torch.nn.Module):
    def forward(self, starts, columns, values, x):
        matrix = torch.sparse_csr_tensor(starts, columns, values, (starts.numel() - 1, x.numel()))
        return matrix @ x


def get_inputs():
    flat = torch.randint(16384 * 16384, (1 << 20,)).sort().values + torch.arange(1 << 20)
    starts, columns = torch.searchsorted(flat // 16384, torch.arange(16386)), flat % 16384
    return [starts, columns, torch.randn(1 << 20), torch.randn(16384)]


def get_init_inputs():
    return []
