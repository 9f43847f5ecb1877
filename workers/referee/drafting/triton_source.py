from workers.referee.drafting.graph import DraftedProblem


class TritonKernels:
    names = ()

    def __init__(self, problem: DraftedProblem) -> None: ...
