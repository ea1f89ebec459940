import { useHotkeys } from '@mantine/hooks'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { destinations } from './navigation'

interface ShortcutActions {
  onSearch: () => void
  onHelp: () => void
  onLive: () => void
  onTheme: () => void
  onKiosk: () => void
}

/** How long after `g` the second key counts. */
const sequenceMs = 1200

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
}

/** The app-wide shortcuts, listed by `?`. They are silent while the viewer types. */
export function useShortcuts({ onSearch, onHelp, onLive, onTheme, onKiosk }: ShortcutActions): void {
  const navigate = useNavigate()
  const startedAt = useRef(0)
  useHotkeys([
    ['mod+K', onSearch],
    ['/', onSearch],
    ['shift+?', onHelp],
    ['L', onLive],
    ['D', onTheme],
    ['K', onKiosk],
  ])
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return
      if (event.key === 'g') {
        startedAt.current = event.timeStamp
        return
      }
      if (event.timeStamp - startedAt.current > sequenceMs) return
      startedAt.current = 0
      const destination = destinations.find(({ key }) => key === event.key)
      if (destination !== undefined) void navigate({ to: destination.to })
    }
    window.addEventListener('keydown', onKeyDown)
    return () => window.removeEventListener('keydown', onKeyDown)
  }, [navigate])
}
