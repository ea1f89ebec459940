import react from '@vitejs/plugin-react'
import { defineConfig } from 'vitest/config'

/** Specs that need a document. */
const withDocument = ['src/**/*.spec.tsx', 'src/charts/heatmap/figure.spec.ts']

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
    // Nobody reads the sizes after compression, which take a second.
    reportCompressedSize: false,
    // The charting library is one lazy chunk of about 1.4 MB; everything else stays far below.
    chunkSizeWarningLimit: 1600,
    // Left alone, each module that two pages share becomes a file: a hundred small ones, which a browser asks for six at
    // a time. So there is one file that every page starts with, one of what other pages share, and one of each page.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: 'app', tags: ['$initial'], priority: 1 },
            { name: 'pages', minShareCount: 2 },
          ],
        },
      },
    },
  },
  test: {
    testTimeout: 60_000,
    unstubGlobals: true,
    restoreMocks: true,
    clearMocks: true,
    // Loading the modules of the app anew for every file takes as long as the tests themselves.
    isolate: false,
    // The default leaves one core idle: half of a machine with two.
    maxWorkers: '100%',
    projects: [
      {
        extends: true,
        test: { name: 'functions', environment: 'node', include: ['src/**/*.spec.ts'], exclude: withDocument },
      },
      {
        extends: true,
        test: {
          name: 'components',
          environment: 'jsdom',
          include: withDocument,
          setupFiles: ['src/mock-api/browser.ts'],
        },
      },
    ],
  },
})
