import { vi } from 'vitest'

export const leaveTo = vi.fn<(path: string) => void>()
