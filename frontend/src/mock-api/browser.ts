/** What jsdom lacks of a browser and the components need. */
import { cleanup, configure, prettyDOM } from '@testing-library/react'
import { afterEach, vi } from 'vitest'

// Files share the modules of the app, so that what stands in for one is the same for all of them.
vi.mock('../charts/Plot')
vi.mock('../lib/access/leave')
vi.mock('../ui/export/ExportMenu')
vi.mock('../ui/tables/listTable')

afterEach(() => {
  cleanup()
  window.localStorage.clear()
  window.sessionStorage.clear()
})

// Long enough for a busy machine: a spec fails on what it sees, not on how fast it sees it.
configure({ asyncUtilTimeout: 20_000, getElementError: describeWhenRead })
window.matchMedia = (query: string) => ({
  matches: false,
  media: query,
  onchange: null,
  addListener: () => undefined,
  removeListener: () => undefined,
  addEventListener: () => undefined,
  removeEventListener: () => undefined,
  dispatchEvent: () => false,
})
window.scrollTo = () => undefined
Element.prototype.scrollIntoView = () => undefined
window.ResizeObserver = class {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
}

/** An error whose message shows the document once somebody reads it: a spec that waits for an element drops most of them. */
function describeWhenRead(message: string | null, container: Element): Error {
  const error = new Error(message ?? '')
  // The failure is shown where the spec looked, not here.
  error.stack = error.stack?.replace(/\n.*describeWhenRead.*/, '')
  error.name = 'TestingLibraryElementError'
  let told: string | undefined
  Object.defineProperty(error, 'message', {
    configurable: true,
    get: () => (told ??= [message, prettyDOM(container)].filter(Boolean).join('\n\n')),
  })
  return error
}
