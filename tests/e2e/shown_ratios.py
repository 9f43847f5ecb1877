"""Reads every ratio that a page shows: its value, whose it is and what the page calls it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

_READ = r"""() => {
    const found = []
    const pattern = /(?<![\d.])(\d+(?:\.\d+)?)×(?!\d)/g
    const main = document.querySelector("main") ?? document.body
    const columnOf = cell => {
        const heads = cell.closest("table, [role=table]")?.querySelectorAll("thead th, [role=columnheader]") ?? []
        // A head that spans rows stands in the first of them only.
        const cells = [...cell.parentElement.children]
        const missing = heads.length - cells.reduce((sum, one) => sum + (one.colSpan ?? 1), 0)
        return heads[cells.indexOf(cell) + Math.max(0, missing)]?.textContent ?? ""
    }
    const nameOf = place => {
        const cell = place.closest("td, th, [role=cell]")
        if (cell) return columnOf(cell)
        const figure = place.closest(".figures > div")
        return figure ? figure.lastElementChild.textContent : ""
    }
    const ownerOf = place => {
        const cell = place.closest("td")
        const across = place.closest("[aria-label=Comparison]")
            ? cell && cell.closest("table").querySelectorAll("thead th")[[...cell.parentElement.children].indexOf(cell)]
            : null
        for (let at = across ?? place; at && at !== main.parentElement; at = at.parentElement) {
            const node = at.closest(".react-flow__node") === at ? at.dataset.id : null
            if (node) return node
            if (at.dataset?.candidate) return at.dataset.candidate
            const rows = "tr, th, li, [role=row], [role=listitem] > *, section, main, a"
            if (!at.matches(rows)) continue
            const links = [...at.querySelectorAll("a[href]"), ...(at.matches("a[href]") ? [at] : [])]
            const address = /^\/(?:candidates|jobs)\/([^/?#]+)/
            const ids = new Set(links.map(one => address.exec(one.getAttribute("href"))?.[1]))
            ids.delete(undefined)
            if (at.matches("main, section")) return ""
            if (ids.size === 1) return [...ids][0]
        }
        return ""
    }
    const take = (text, place, kind) => {
        for (const [, value] of text.matchAll(pattern)) {
            const region = place.closest("section, [role=region], [role=table]")?.getAttribute("aria-label") ?? ""
            found.push({value: Number(value), digits: value.split(".")[1]?.length ?? 0, text: text.trim(), kind,
                        name: nameOf(place), owner: ownerOf(place), region,
                        row: place.closest("tr, li, [role=row]")?.innerText ?? ""})
        }
    }
    const walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT)
    while (walker.nextNode()) {
        const place = walker.currentNode.parentElement
        if (place.closest("pre, code, .cm-editor, [data-note], script, style, [aria-hidden=true]")) continue
        take(walker.currentNode.data, place, place.closest("[data-fell]") ? "fell" : "text")
    }
    for (const [kind, attribute] of [["label", "aria-label"], ["title", "title"]])
        for (const place of main.querySelectorAll(`[${attribute}*='×']`))
            take(place.getAttribute(attribute), place, kind)
    return found
}"""


@dataclass(frozen=True, kw_only=True)
class ShownRatio:
    """One `N×` on a page."""

    value: float
    digits: int
    """Decimals that it is shown with."""
    text: str
    """The text that it stands in."""
    kind: str
    """`text`, `label` (for who cannot see a picture), `title` (on hovering) or `fell`: why the best so far fell."""
    name: str
    """Name of the figure, or head of the column."""
    owner: str
    """The job or candidate of its row; empty where it is the page's own."""
    region: str
    """Name of the section or table around it."""
    row: str
    """All of the row that it stands in."""

    def is_of(self, exact: float) -> bool:
        """Whether it is this figure, rounded as shown."""
        return abs(self.value - exact) <= 0.5000001 * float(10**-self.digits)


def shown_ratios(page: Any) -> list[ShownRatio]:
    """Every ratio on the page outside of sources and of the notes that explain ratios."""
    return [ShownRatio(**one) for one in page.evaluate(_READ)]


def reason_of(page: Any) -> str:
    """The page's notes on ratios that are not those of the shown medians; empty where it has none."""
    return "\n".join(page.locator("[data-note=ratio]").all_inner_texts())


def reasoned(reason: str) -> dict[str, float]:
    """Ratio of the medians alone that a reason gives, by baseline."""
    return {name: float(value) for value, name in re.findall(r"([\d.]+)× \(([^()]+)\)", reason)}
