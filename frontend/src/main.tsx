import '@fontsource-variable/inter'
import '@fontsource-variable/jetbrains-mono'
import '@mantine/core/styles.css'
import './ui/theme/theme.css'
import { MantineProvider } from '@mantine/core'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { ApiProblem } from './api/problem'
import { createAppRouter } from './router'
import { theme } from './ui/theme/theme'

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // A refusal stays one; only a missing answer or a busy service is worth asking again at once.
      retry: (failures, error) =>
        failures < 2 && error instanceof ApiProblem && [0, 429, 502, 503, 504].includes(error.text.status),
      refetchOnWindowFocus: false,
    },
  },
})

const root = document.getElementById('root')
if (root === null) throw new Error('index.html lacks the element #root')
createRoot(root).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto">
      <QueryClientProvider client={queries}>
        <RouterProvider router={createAppRouter()} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
)
