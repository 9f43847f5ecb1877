import { replace, type RouteObject } from "react-router";
import { Shell } from "./shell/Shell";
import { NotFound, PageFault } from "./parts/States";

export const routes: RouteObject[] = [
  {
    element: <Shell />,
    errorElement: <PageFault />,
    hydrateFallbackElement: <></>,
    children: [
      {
        errorElement: <PageFault />,
        children: [
          { index: true, lazy: () => import("./pages/Jobs") },
          { path: "jobs", loader: ({ request }) => replace(`/${new URL(request.url).search}`) },
          { path: "submit", lazy: () => import("./pages/Submit") },
          { path: "leaderboard", lazy: () => import("./pages/Leaderboard") },
          { path: "compare", lazy: () => import("./pages/Compare") },
          { path: "jobs/:jobId", lazy: () => import("./pages/Job") },
          { path: "jobs/:jobId/trace", lazy: () => import("./pages/Trace") },
          { path: "jobs/:jobId/playground", lazy: () => import("./pages/Playground") },
          { path: "candidates/:candidateId", lazy: () => import("./pages/Candidate") },
          { path: "memory", lazy: () => import("./pages/Memory") },
          { path: "memory/:experienceId", lazy: () => import("./pages/Experience") },
          { path: "webhooks", lazy: () => import("./pages/Webhooks") },
          { path: "team", lazy: () => import("./pages/Team") },
          { path: "workers", lazy: () => import("./pages/Workers") },
          { path: "*", element: <NotFound /> },
        ],
      },
    ],
  },
];
