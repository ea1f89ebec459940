import { AppShell, useComputedColorScheme, useMantineColorScheme } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { Outlet, useRouterState, useSearch } from '@tanstack/react-router'
import { useCallback, useEffect, useRef, type ReactNode } from 'react'
import type { InstallationStatus } from '../../api/_generated/schema'
import { statusQuery } from '../../api/queries/operate/status'
import { toRfc3339 } from '../../lib/units/time'
import { resolveRange } from '../../lib/url/timeRange'
import type { ExportOrigin } from '../../ui/export/download'
import { ExportOriginContext } from '../../ui/export/exportOrigin'
import { SimulatedBanner } from '../../ui/provenance/SimulatedBanner'
import { HatchPattern } from '../../ui/theme/HatchPattern'
import { BusyBanner } from './BusyBanner'
import { ConnectionBanner } from './ConnectionBanner'
import { NodesBanner } from './NodesBanner'
import { ProgressBanner } from './ProgressBanner'
import { LoginNotice } from './access/LoginNotice'
import { useSession } from './access/useSession'
import { useSessionEnd } from './access/useSessionEnd'
import { KioskBar } from './kiosk/KioskBar'
import { useKiosk } from './kiosk/useKiosk'
import { Navigation } from './navigation/Navigation'
import { SearchDialog } from './navigation/SearchDialog'
import { ShortcutsDialog } from './navigation/ShortcutsDialog'
import { TopBar } from './navigation/TopBar'
import { useShortcuts } from './navigation/useShortcuts'
import classes from './Shell.module.css'
import { TagsBar } from './tags/TagsBar'
import { useTimeRange } from './time/useTimeRange'
import { ViewsDialog } from './views/ViewsDialog'

/** The frame around every page. */
export function Shell(): ReactNode {
  const [navOpened, nav] = useDisclosure(false)
  const [searchOpened, search] = useDisclosure(false)
  const [helpOpened, help] = useDisclosure(false)
  const [viewsOpened, views] = useDisclosure(false)
  const { isKiosk, setKiosk } = useKiosk()
  const { isLive, setLive } = useTimeRange()
  const { tags } = useSearch({ from: '__root__' })
  const scheme = useComputedColorScheme('light')
  const { setColorScheme } = useMantineColorScheme()
  const status = useQuery(statusQuery())
  const origin = useShellOrigin(status.data)
  const { session } = useSession()
  const ended = useSessionEnd(session)
  const path = useRouterState({ select: (state) => state.location.pathname })
  const main = useRef<HTMLElement>(null)
  const firstPath = useRef(path)

  // A new page starts at its top, and with the focus, for keyboards and screen readers; the first one keeps the skip link.
  useEffect(() => {
    if (firstPath.current === path) return
    firstPath.current = path
    main.current?.focus({ preventScroll: true })
  }, [path])

  const toggleTheme = () => setColorScheme(scheme === 'dark' ? 'light' : 'dark')
  useShortcuts({
    onSearch: search.open,
    onHelp: help.open,
    onLive: () => setLive(!isLive),
    onTheme: toggleTheme,
    onKiosk: () => setKiosk(!isKiosk),
  })
  const startKiosk = () => setKiosk(true)
  return (
    <AppShell
      header={{ height: 48 }}
      navbar={{ width: 184, breakpoint: 'sm', collapsed: { mobile: !navOpened } }}
      padding={0}
      disabled={isKiosk}
    >
      <a href="#main" className={classes.skip}>
        Skip to content
      </a>
      <HatchPattern />
      {!isKiosk && (
        <>
          <AppShell.Header className={classes.surface}>
            <TopBar
              navOpened={navOpened}
              onNav={nav.toggle}
              onSearch={search.open}
              onShortcuts={help.open}
              onViews={views.open}
              onKiosk={startKiosk}
            />
          </AppShell.Header>
          <AppShell.Navbar className={classes.surface}>
            <Navigation onNavigate={nav.close} />
            <div className={classes.foot}>
              {status.data === undefined ? '\u00a0' : `Tierscope ${status.data.version}`}
            </div>
          </AppShell.Navbar>
        </>
      )}
      <AppShell.Main id="main" ref={main} tabIndex={-1} className={classes.frame}>
        {isKiosk && <KioskBar onLeave={() => setKiosk(false)} />}
        <ConnectionBanner />
        <BusyBanner />
        <TagsBar />
        <NodesBanner status={status.data} />
        <ProgressBanner status={status.data} />
        {status.data?.simulated === true && <SimulatedBanner />}
        {path !== '/login' && (ended || session?.kind === 'nobody') && <LoginNotice ended={ended} />}
        <div className={isKiosk ? `${classes.main} ${classes.kiosk}` : classes.main}>
          <ExportOriginContext value={origin}>
            {/* Nothing of the answers before stays on the page when it is narrowed. */}
            <Outlet key={tags} />
          </ExportOriginContext>
        </div>
      </AppShell.Main>
      <SearchDialog
        opened={searchOpened}
        onClose={search.close}
        actions={{ onTheme: toggleTheme, onViews: views.open, onKiosk: startKiosk }}
      />
      {viewsOpened && <ViewsDialog onClose={views.close} />}
      <ShortcutsDialog opened={helpOpened} onClose={help.close} />
    </AppShell>
  )
}

/** What every file that a page hands out says of itself: the installation's origin and the page's time range. */
function useShellOrigin(status: InstallationStatus | undefined): () => ExportOrigin {
  const { range } = useTimeRange()
  return useCallback(() => {
    const { start, end } = resolveRange(range.from, range.to, Math.floor(Date.now() / 1000))
    return {
      origin: status === undefined ? 'unknown' : status.simulated ? 'simulated' : 'measured',
      window: { start: toRfc3339(start), end: toRfc3339(end) },
      version: status?.version ?? null,
    }
  }, [status, range])
}
