"""Products in a traced graph."""

from __future__ import annotations

from agents.playbook.triton.patterns.product_graph import product
from services.domain.problems import ProblemAnalysis
from tests.unit.agents.playbook.triton.test_catalogue import names
from tests.unit.agents.triton_problems import a_chain, a_graph, operator, ref, spec


def test_a_triangle_is_skipped_only_where_it_comes_first() -> None:
    cut = operator("triu.default", ref("mm"), 1, output=spec("cut", 64, 48))
    first = product(a_chain(cut, operator("exp.default", ref("cut"), output=spec("out", 64, 48))))
    later = product(
        a_chain(
            operator("exp.default", ref("mm"), output=spec("exp", 64, 48)),
            operator("triu.default", ref("exp"), 1, output=spec("cut", 64, 48)),
        )
    )
    assert first is not None
    assert later is not None
    assert (first.triangle, first.diagonal, later.triangle) == ("triu", 1, None)


def test_an_addend_that_counts_nothing_is_not_read() -> None:
    def addmm(beta: float) -> ProblemAnalysis:
        given = [ref("c"), ref("a"), ref("b")]
        made = operator("addmm.default", *given, output=spec("out", 64, 48), beta=beta)
        return a_graph(made, inputs=(spec("a", 64, 32), spec("b", 32, 48), spec("c", 48)))

    read, unread = product(addmm(0.5)), product(addmm(0.0))
    assert read is not None
    assert read.addend is not None
    assert unread is not None
    assert unread.addend is None


def test_two_products_and_factors_of_two_types_are_left_to_the_compiler() -> None:
    again = operator("mm.default", ref("mm"), ref("c"), output=spec("out", 64, 7))
    assert names(a_chain(again, extra=(spec("c", 48, 7),))) == []
    mixed = a_graph(
        operator("mm.default", ref("a"), ref("b"), output=spec("mm", 64, 48)),
        inputs=(spec("a", 64, 32), spec("b", 32, 48, dtype="float16")),
    )
    assert names(mixed) == []
