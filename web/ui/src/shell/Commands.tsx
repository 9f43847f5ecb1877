/** ⌘K: every page, the colour scheme and every job by name. */
import { Modal, TextInput, useMantineColorScheme } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useId, useState } from "react";
import { useNavigate } from "react-router";
import { data } from "../api";
import { listJobs } from "../client";
import { PAGES } from "./pages";

interface Command {
  key: string;
  name: string;
  hint: string;
  run: () => void;
}

export function Commands({ opened, close }: { opened: boolean; close: () => void }) {
  return (
    <Modal opened={opened} onClose={close} title="Go to" padding="md" size="lg" closeButtonProps={{ "aria-label": "Close" }}>
      {opened && <Search close={close} />}
    </Modal>
  );
}

function Search({ close }: { close: () => void }) {
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const list = useId();
  const commands = useCommands(typed);
  useEffect(() => setAt(0), [typed]);
  const run = (command: Command | undefined): void => {
    if (!command) return;
    close();
    command.run();
  };
  const onKeyDown = (event: React.KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      setAt((at + step + commands.length) % Math.max(commands.length, 1));
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(commands[at]);
    }
  };
  return (
    <>
      <TextInput
        aria-label="Page, action or job"
        placeholder="Page, action or job"
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
        onKeyDown={onKeyDown}
        role="combobox"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={commands[at] ? `${list}-${at}` : undefined}
        data-autofocus
        autoComplete="off"
      />
      <div id={list} role="listbox" aria-label="Found" style={{ marginTop: 8, maxHeight: "50vh", overflow: "auto" }}>
        {commands.map((command, index) => (
          <div
            key={command.key}
            id={`${list}-${index}`}
            role="option"
            aria-selected={index === at}
            className="hit"
            onMouseMove={() => setAt(index)}
            onClick={() => run(command)}
          >
            {command.name} <span className="quiet">{command.hint}</span>
          </div>
        ))}
      </div>
    </>
  );
}

function useCommands(typed: string): Command[] {
  const navigate = useNavigate();
  const { toggleColorScheme } = useMantineColorScheme();
  const [asked] = useDebouncedValue(typed.trim(), 150);
  const found = useQuery({
    queryKey: ["jobs", "found", asked],
    queryFn: () => data(listJobs({ query: { q: asked, limit: 8 } })),
    placeholderData: keepPreviousData,
  });
  const fixed: Command[] = [
    ...PAGES.map(({ to, name }) => ({ key: to, name, hint: "page", run: () => void navigate(to) })),
    { key: "colours", name: "Toggle dark mode", hint: "action", run: toggleColorScheme },
  ];
  const jobs = (found.data?.items ?? []).map((job) => ({
    key: job.id,
    name: job.problem,
    hint: `${job.status}, ${job.id}`,
    run: () => void navigate(`/jobs/${job.id}`),
  }));
  const words = typed.toLowerCase().split(/\s+/);
  return [...fixed.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word))), ...jobs];
}
