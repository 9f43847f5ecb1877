/** Rounds as they happened, latest first. */
import { Anchor, Button, Group, Text } from "@mantine/core";
import { useState } from "react";
import { Link } from "react-router";
import type { Kind } from "../candidates";
import { micros, ratio, seconds, signed, between } from "../format";
import type { Story, StepStory } from "../timeline";
import { KindPill } from "./Pills";
import { Empty } from "./States";

const PAGE = 20;
const KIND: Record<string, Kind> = { accepted: "correct", suspicious: "suspicious", rejected: "rejected", infrastructure_error: "machine" };

/** `over`: the job has ended, and what was under way was stopped. */
export function Timeline({ story, over }: { story: Story; over: boolean }) {
  const [shown, setShown] = useState(PAGE);
  const latest = story.steps.slice(-shown).reverse();
  if (latest.length === 0) {
    return (
      <Empty title={over ? "No activity" : "No activity yet"}>
        {story.marks.map((mark, index) => (
          <div key={index}>{mark.text}</div>
        ))}
      </Empty>
    );
  }
  return (
    <>
      <ol className="story" reversed>
        {latest.map((step) => (
          <Round key={step.step} step={step} over={over} />
        ))}
      </ol>
      {story.steps.length > shown && (
        <Button variant="default" size="xs" mt="xs" onClick={() => setShown(shown + 5 * PAGE)}>
          Earlier rounds
        </Button>
      )}
    </>
  );
}

function Round({ step, over }: { step: StepStory; over: boolean }) {
  const kind = step.verdict === "accepted" && step.gain === "surely" ? "accepted" : step.verdict ? KIND[step.verdict] : undefined;
  return (
    <li className={step.done || over ? undefined : "now"} data-step={step.step}>
      <Group gap="xs">
        <Text fw={650} size="sm">
          Round {step.step + 1}
        </Text>
        <Text size="xs" className="quiet">
          {step.stage} · {step.done ? between(step.startedAt, step.endedAt) : over ? "stopped" : "in progress"}
        </Text>
        {kind && <KindPill kind={kind} />}
        {step.speedup !== null && <Text size="sm">{ratio(step.speedup)}</Text>}
        {step.medianUs !== null && (
          <Text size="sm" className="quiet">
            {micros(step.medianUs)}
          </Text>
        )}
        {step.reward !== null && (
          <Text size="xs" className="quiet">
            reward {signed(step.reward)}
          </Text>
        )}
        {step.candidateId && (
          <Anchor component={Link} to={`/candidates/${step.candidateId}`} size="xs" underline="always">
            kernel
          </Anchor>
        )}
      </Group>
      {step.turns.map((turn, index) => (
        <div key={index} className="turn break">
          <b>{turn.agent}</b>
          <span>{turn.done ? (turn.summary ?? "") : over || step.done ? "stopped" : "working…"}</span>
          <span className="quiet figure">
            {turn.tokens ? `${turn.tokens} tokens ` : ""}
            {turn.seconds !== null ? seconds(turn.seconds) : ""}
          </span>
        </div>
      ))}
      {step.evaluating && <Text size="sm">{over ? "Evaluation stopped" : "Evaluating…"}</Text>}
      {step.failedGate && (
        <Text size="sm" className="break" lineClamp={3}>
          <b>{step.failedGate}</b> {step.detail}
        </Text>
      )}
      {step.failure && (
        <Text size="sm" className="break">
          {step.failure}
        </Text>
      )}
    </li>
  );
}
