/** How far outputs were off: the worst of each gate and kind of draw, the one closest to its allowance first. */
import { Anchor, Text } from "@mantine/core";
import { useState } from "react";
import type { EvaluationReport, OutputError } from "../client";
import { CHECKS, allowance, figure, units, valuesOf } from "../errors";
import { NOTHING } from "../format";
import { inks } from "./Pills";
import { Rows } from "./Rows";

const SHOWN = 8;

export function Errors({ report: { errors } }: { report: EvaluationReport }) {
  const [all, setAll] = useState(false);
  if (errors === null || errors === undefined) return <Text size="sm">Not recorded.</Text>;
  if (errors.length === 0) return <Text size="sm">No outputs were compared.</Text>;
  const hidden = errors.length - SHOWN;
  return (
    <>
      <Rows label="Errors of outputs">
        <thead>
          <tr>
            <th>Values</th>
            <th className="figure">Allowance used</th>
            <th className="figure">Max. absolute</th>
            <th className="figure">ULP</th>
            <th className="figure">Relative</th>
            <th className="figure">Tolerance</th>
            <th>Type</th>
            <th>Gate</th>
          </tr>
        </thead>
        <tbody>
          {(all ? errors : errors.slice(0, SHOWN)).map((one) => (
            <Row key={`${one.gate} ${one.draw} ${one.tensor}`} error={one} />
          ))}
        </tbody>
      </Rows>
      {hidden > 0 && (
        <Anchor component="button" type="button" size="sm" underline="always" mt={6} onClick={() => setAll(!all)}>
          {all ? "Show fewer" : `Show ${hidden} more, none closer to its allowance`}
        </Anchor>
      )}
      <Text size="xs" className="quiet" mt={6} maw={760}>
        The worst of each gate and kind of values. 100 % of the allowance is the limit. ULP, relative error and tolerance are those of the element that used most of its tolerance.
      </Text>
    </>
  );
}

function Row({ error }: { error: OutputError }) {
  const wrong = error.share === null || error.share > 1;
  return (
    <tr data-draw={error.draw}>
      <td style={{ minWidth: "16ch" }}>
        {valuesOf(error)}
        {(error.comparisons ?? 1) > 1 && <span className="quiet"> ({error.comparisons} calls)</span>}
      </td>
      <td className="figure" title={error.check ? CHECKS[error.check] : undefined}>
        {error.check && <span className="quiet">{error.check} </span>}
        {wrong ? (
          <span className="pill" style={inks("rejected")}>
            <span aria-hidden="true">✕</span>
            {allowance(error.share)}
          </span>
        ) : (
          allowance(error.share)
        )}
      </td>
      <td className="figure">{figure(error.max_abs)}</td>
      <td className="figure">{units(error)}</td>
      <td className="figure">{figure(error.worst?.relative)}</td>
      <td className="figure">{figure(error.worst?.allowed)}</td>
      <td>{error.dtype}</td>
      <td>{error.worst ? <span title={`element [${error.worst.at.join(", ")}]`}>{error.gate}</span> : (error.gate ?? NOTHING)}</td>
    </tr>
  );
}
