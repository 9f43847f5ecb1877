import torch


class Model(torch.nn.Module):
    """Edit distance of each pair of words, which end at their lengths."""

    def forward(self, a, b, a_lengths, b_lengths):
        batch, n = a.shape
        m = b.shape[1]
        row = torch.arange(m + 1).expand(batch, -1)
        rows = [row]
        for i in range(n):
            best = torch.minimum(row[:, 1:] + 1, row[:, :-1] + (a[:, i : i + 1] != b).long())
            best = torch.cat((torch.full((batch, 1), i + 1), best), dim=1)
            place = torch.arange(m + 1)
            row = (best - place).cummin(dim=1).values + place
            rows.append(row)
        return torch.stack(rows, dim=1)[torch.arange(batch), a_lengths, b_lengths]


def get_inputs():
    return [
        torch.randint(0, 6, (256, 20)),
        torch.randint(0, 6, (256, 24)),
        torch.randint(0, 21, (256,)),
        torch.randint(0, 25, (256,)),
    ]


def get_init_inputs():
    return []
