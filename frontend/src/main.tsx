import '@fontsource-variable/inter'
import '@fontsource-variable/jetbrains-mono'
import './ui/theme/layers.css'
import '@mantine/core/styles.layer.css'
import './ui/theme/theme.css'
import { MantineProvider } from '@mantine/core'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { createQueryClient } from './api/queryClient'
import { takeSessionKey } from './api/sessionKey'
import { createAppRouter } from './router'
import { theme } from './ui/theme/theme'

const root = document.getElementById('root')
if (root === null) throw new Error('index.html lacks the element #root')
await takeSessionKey()
const queryClient = createQueryClient()
createRoot(root).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto">
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={createAppRouter(queryClient)} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
)
