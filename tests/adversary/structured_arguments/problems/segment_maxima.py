import torch


class Model(torch.nn.Module):
    """The maximum of each graph's nodes. `graph` says whose a node is, in order; each graph has a node."""

    def forward(self, x, graph, count):
        y = torch.full((count, x.shape[1]), float("-inf"))
        return y.scatter_reduce_(0, graph[:, None].expand_as(x), x, "amax")


def get_inputs():
    graph = torch.cat((torch.arange(64), torch.randint(0, 64, (4032,)))).sort().values
    return [torch.randn(4096, 32), graph, 64]


def get_init_inputs():
    return []
