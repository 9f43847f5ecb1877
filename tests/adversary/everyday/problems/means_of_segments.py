import torch


class Model(torch.nn.Module):
    def forward(self, x, segment):
        sums = x.new_zeros(128, x.shape[1]).index_add_(0, segment, x)
        counts = torch.bincount(segment, minlength=128)
        return sums / counts.clamp(min=1).unsqueeze(1), counts


def get_inputs():
    return [torch.randn(4096, 64), torch.randint(0, 120, (4096,)).sort().values]
