import torch


class Model(torch.nn.Module):
    def forward(self, mask):
        count = mask.sum(dim=1)
        return {"any": count > 0, "all": mask.all(dim=1), "count": count, "share": mask.float().mean(dim=1)}


def get_inputs():
    return [torch.rand(512, 256) < torch.rand(512, 1) * 1.2 - 0.1]
