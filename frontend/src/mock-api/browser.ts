/** What jsdom lacks of a browser and the components need. */
import { vi } from 'vitest'

if (typeof window !== 'undefined') {
  // Long enough for a busy machine: a spec fails on what it sees, not on how fast it sees it.
  const { configure } = await import('@testing-library/react')
  configure({ asyncUtilTimeout: 20_000 })
  window.matchMedia = (query: string) => ({
    matches: false,
    media: query,
    onchange: null,
    addListener: vi.fn(),
    removeListener: vi.fn(),
    addEventListener: vi.fn(),
    removeEventListener: vi.fn(),
    dispatchEvent: () => false,
  })
  window.scrollTo = () => undefined
  Element.prototype.scrollIntoView = () => undefined
  window.ResizeObserver = class {
    observe(): void {}
    unobserve(): void {}
    disconnect(): void {}
  }
}
