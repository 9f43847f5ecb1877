/** What stands around every page: the way to the others, the colour scheme, and word of a lost server. */
import { ActionIcon, Button, useComputedColorScheme, useMantineColorScheme } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { useEffect, useState } from "react";
import { NavLink, Outlet, ScrollRestoration, useLocation } from "react-router";
import { Commands } from "./Commands";
import { ServerWatch } from "./ServerWatch";
import { SignIn } from "./SignIn";
import { focusSearch, moveRow } from "./keys";
import { PAGES } from "./pages";

const MAC = /Mac|iPhone|iPad/.test(navigator.userAgent);

export function Shell() {
  const [asking, setAsking] = useState(false);
  const [open, setOpen] = useState(false);
  const { pathname } = useLocation();
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme("light", { getInitialValueInEffect: false });
  const other = scheme === "dark" ? "light" : "dark";
  useEffect(() => setOpen(false), [pathname]);
  useHotkeys([
    ["mod+K", () => setAsking(true)],
    ["/", focusSearch],
    ["j", () => moveRow(1)],
    ["k", () => moveRow(-1)],
  ]);
  return (
    <>
      <a className="skip" href="#main">
        Skip to content
      </a>
      <header className="top">
        <div className="top-line">
          <NavLink to="/" className="brand" aria-label="Kernelwright, jobs">
            <img src="/icon.svg" alt="" width={26} height={26} />
            <span>Kernelwright</span>
          </NavLink>
          <nav className="nav wide" aria-label="Pages">
            <Links />
          </nav>
          <span style={{ flex: 1 }} />
          <Button className="wide" variant="default" size="xs" onClick={() => setAsking(true)}>
            Go to… <kbd style={{ marginLeft: 8 }}>{MAC ? "⌘K" : "Ctrl K"}</kbd>
          </Button>
          <ActionIcon variant="default" size="lg" aria-label={`Switch to ${other} mode`} onClick={() => setColorScheme(other)}>
            <span aria-hidden="true">{scheme === "dark" ? "☀" : "☾"}</span>
          </ActionIcon>
          <ActionIcon
            className="narrow"
            variant="default"
            size="lg"
            aria-label="Pages"
            aria-expanded={open}
            onClick={() => setOpen(!open)}
          >
            <span aria-hidden="true">☰</span>
          </ActionIcon>
        </div>
        {open && (
          <nav className="nav below open" aria-label="Pages">
            <Links />
          </nav>
        )}
        <ServerWatch />
      </header>
      <main id="main" className="page" tabIndex={-1} style={{ outline: "none" }}>
        <Outlet />
      </main>
      <Commands opened={asking} close={() => setAsking(false)} />
      <SignIn />
      <ScrollRestoration />
    </>
  );
}

function Links() {
  return PAGES.map(({ to, name }) => (
    <NavLink key={to} to={to} end={to === "/"}>
      {name}
    </NavLink>
  ));
}
