import { MantineProvider } from '@mantine/core'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider, createMemoryHistory } from '@tanstack/react-router'
import { render } from '@testing-library/react'
import type { ReactNode } from 'react'
import { vi } from 'vitest'
import { createQueryClient } from '../api/queryClient'
import { createAppRouter } from '../router'
import { theme } from '../ui/theme/theme'
import { answer } from './answer'

/** Render a component with the theme alone. */
export function renderBare(node: ReactNode) {
  return render(
    <MantineProvider theme={theme} env="test">
      {node}
    </MantineProvider>,
  )
}

/**
 * Open the whole app at a URL, on the mock API. `respond` may answer a request in its own way; undefined falls back to
 * the mock. Returns the router, whose location is the state of the app.
 */
export function openApp(
  path: string,
  respond: (url: URL, request: Request) => Response | undefined | Promise<Response | undefined> = () => undefined,
) {
  vi.stubGlobal(
    'fetch',
    async (request: Request) => (await respond(new URL(request.url), request)) ?? answer(request.url),
  )
  const queryClient = createQueryClient(0)
  const router = createAppRouter(queryClient, createMemoryHistory({ initialEntries: [path] }))
  renderBare(
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>,
  )
  return router
}
