/** Columns, groups and saved views of the list of jobs. */
import { Button, Checkbox, Group, Menu, Popover, Select, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import { COLUMNS, GROUPS, keepViews, NAMES, savedViews, type Arrangement, type Group as Grouping, type SavedView } from "../jobTable";
import { say } from "./notify";

interface Props {
  arrangement: Arrangement;
  arrange: (next: Arrangement) => void;
  /** The address's parameters as they are. */
  search: string;
  open: (search: string) => void;
}

export function JobViews({ arrangement, arrange, search, open }: Props) {
  return (
    <Group gap="xs" align="end">
      <Select
        label="Group by"
        size="xs"
        w={130}
        data={GROUPS.map((value) => ({ value, label: value }))}
        value={arrangement.group}
        onChange={(group) => arrange({ ...arrangement, group: group as Grouping | null })}
        clearable
        placeholder="nothing"
        clearButtonProps={{ "aria-label": "No groups" }}
      />
      <Columns arrangement={arrangement} arrange={arrange} />
      <Views search={search} open={open} />
    </Group>
  );
}

function Columns({ arrangement, arrange }: Pick<Props, "arrangement" | "arrange">) {
  const { columns } = arrangement;
  const toggle = (key: (typeof COLUMNS)[number]): void =>
    arrange({ ...arrangement, columns: COLUMNS.filter((one) => (one === key ? !columns.includes(one) : columns.includes(one))) });
  return (
    <Popover position="bottom-end" withArrow>
      <Popover.Target>
        <Button size="xs" variant="default" className="wide">
          Columns
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <Stack gap={6} role="group" aria-label="Columns">
          {COLUMNS.map((key) => (
            <Checkbox
              key={key}
              size="xs"
              label={NAMES[key]}
              checked={columns.includes(key)}
              disabled={columns.length === 1 && columns.includes(key)}
              onChange={() => toggle(key)}
            />
          ))}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}

const here = (): Storage => window.localStorage;

function Views({ search, open }: Pick<Props, "search" | "open">) {
  const [views, setViews] = useState<SavedView[]>(() => savedViews(here));
  const [name, setName] = useState("");
  const keep = (next: SavedView[]): void => {
    setViews(next);
    if (!keepViews(here, next)) say("This browser keeps nothing for this site: the view lasts until you leave the page.");
  };
  const save = (): void => {
    const named = name.trim();
    if (named === "") return;
    keep([...views.filter((one) => one.name !== named), { name: named, search }]);
    setName("");
  };
  return (
    <Menu position="bottom-end" closeOnItemClick withArrow>
      <Menu.Target>
        <Button size="xs" variant="default">
          Views{views.length > 0 && ` (${views.length})`}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => open("")}>All jobs, newest first</Menu.Item>
        <Menu.Item onClick={() => open("sort=-speedup")}>Largest speedup first</Menu.Item>
        <Menu.Item onClick={() => open("group=problem&sort=-speedup")}>By problem</Menu.Item>
        {views.length > 0 && <Menu.Divider />}
        {views.map((view) => (
          <Menu.Item key={view.name} onClick={() => open(view.search)}>
            {view.name}
          </Menu.Item>
        ))}
        {views.length > 0 && <Menu.Item onClick={() => keep(views.filter((one) => one.search !== search))} disabled={views.every((one) => one.search !== search)}>Delete this view</Menu.Item>}
        <Menu.Divider />
        <form
          onSubmit={(event) => {
            event.preventDefault();
            save();
          }}
        >
          <Group gap={4} p={6} wrap="nowrap">
            <TextInput size="xs" aria-label="Name of the view" placeholder="Save as…" value={name} maxLength={60} onChange={(event) => setName(event.currentTarget.value)} onKeyDown={(event) => event.stopPropagation()} />
            <Button size="xs" type="submit" disabled={name.trim() === ""}>
              Save
            </Button>
          </Group>
        </form>
      </Menu.Dropdown>
    </Menu>
  );
}
