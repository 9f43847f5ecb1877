import { createTheme, type CSSVariablesResolver } from "@mantine/core";

export const theme = createTheme({
  primaryColor: "cyan",
  primaryShade: 9,
  autoContrast: true,
  luminanceThreshold: 0.35,
  defaultRadius: "md",
  fontFamily: "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif",
  fontFamilyMonospace: "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace",
  headings: { fontWeight: "650" },
  cursorType: "pointer",
});

/** Secondary texts with the contrast that WCAG AA asks for; the library's own are paler. */
export const variables: CSSVariablesResolver = () => ({
  variables: {},
  light: { "--mantine-color-dimmed": "var(--quiet)", "--mantine-color-placeholder": "#667079", "--mantine-color-error": "#a51111" },
  dark: { "--mantine-color-dimmed": "var(--quiet)", "--mantine-color-placeholder": "#a0a8b0", "--mantine-color-error": "#ffb3b3" },
});
