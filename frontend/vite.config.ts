import react from '@vitejs/plugin-react'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  plugins: [react()],
  // Parts of plotly.js read the Node name of the global object.
  define: { global: 'globalThis' },
  server: {
    // The API as `tierscope up` serves it; the dashboard itself never talks to another origin.
    proxy: { '/v1': 'http://127.0.0.1:8480' },
  },
  build: {
    // Nothing is inlined as data: URIs, so that the content security policy can stay strict for scripts and fonts.
    assetsInlineLimit: 0,
    // The charting library is one lazy chunk of about 1.4 MB; everything else stays far below.
    chunkSizeWarningLimit: 1600,
  },
  test: {
    // Component specs ask for jsdom in their first line; it takes a second to start per file.
    environment: 'node',
    include: ['src/**/*.spec.{ts,tsx}'],
    setupFiles: ['src/mock-api/browser.ts'],
    testTimeout: 60_000,
    unstubGlobals: true,
    restoreMocks: true,
  },
})
