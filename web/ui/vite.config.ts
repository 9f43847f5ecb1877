import { defineConfig } from "vitest/config";

// No React plugin: esbuild compiles JSX, and hot reload of whole pages is enough here.
export default defineConfig({
  esbuild: { jsx: "automatic" },
  build: {
    target: "es2022",
    // What only lazy pages need stays out of the first view; warnings are for scripts/size.mjs, which fails the build.
    chunkSizeWarningLimit: 2000,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    manifest: true,
    // Libraries mark parts for React's server side, which is not used here.
    rollupOptions: { onwarn: (warning, tell) => warning.code !== "MODULE_LEVEL_DIRECTIVE" && tell(warning) },
  },
  server: { proxy: { "/api": "http://127.0.0.1:8000" } },
  test: { environment: "node", include: ["src/**/*.test.ts"] },
});
