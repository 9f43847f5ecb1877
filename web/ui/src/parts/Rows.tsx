/** A table that scrolls where it is too wide, and is a list of its rows on a phone. */
import { type ReactNode, useLayoutEffect, useRef } from "react";
import { NOTHING } from "../format";

interface Props {
  /** Names the table for whoever cannot see it. */
  label: string;
  children: ReactNode;
  /** Most pixels across: figures far apart are hard to read along a line. */
  most?: number;
}

export function Rows({ label, children, most }: Props) {
  const table = useRef<HTMLTableElement>(null);
  // A list has no heads above its figures, so each cell carries the name of its column; style sheets show it.
  useLayoutEffect(() => {
    const names = [...(table.current?.querySelectorAll("thead th") ?? [])].map((head) => (head.querySelector(".unseen") ?? head).textContent ?? "");
    for (const row of table.current?.querySelectorAll<HTMLTableRowElement>("tbody tr") ?? []) {
      [...row.cells].forEach((cell, index) => {
        cell.dataset.name = names[index] ?? "";
        cell.toggleAttribute("data-nothing", cell.childElementCount === 0 && ["", NOTHING].includes(cell.textContent ?? ""));
      });
    }
  });
  return (
    <div className="scroll-x" tabIndex={0} role="region" aria-label={label}>
      <table className="rows listed" ref={table} style={{ maxWidth: most }}>
        {children}
      </table>
    </div>
  );
}
