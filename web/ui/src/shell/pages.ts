/** The pages that the way around names. */
export const PAGES = [
  { to: "/", name: "Jobs" },
  { to: "/submit", name: "Submit" },
  { to: "/leaderboard", name: "Leaderboard" },
  { to: "/memory", name: "Memory" },
  { to: "/workers", name: "Workers" },
  { to: "/webhooks", name: "Webhooks" },
  { to: "/team", name: "Team" },
];
