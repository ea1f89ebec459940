import { AppShell, useComputedColorScheme, useMantineColorScheme } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { Outlet, useRouterState } from '@tanstack/react-router'
import { useEffect, useRef, type ReactNode } from 'react'
import { statusQuery } from '../../api/queries/operate/status'
import { HatchPattern } from '../../ui/theme/HatchPattern'
import { ExportOriginContext } from '../../ui/export/exportOrigin'
import { SimulatedBanner } from '../../ui/provenance/SimulatedBanner'
import { LoginNotice } from './access/LoginNotice'
import { Navigation } from './navigation/Navigation'
import { SearchDialog } from './navigation/SearchDialog'
import classes from './Shell.module.css'
import { ShortcutsDialog } from './navigation/ShortcutsDialog'
import { TopBar } from './navigation/TopBar'
import { useSession } from './access/useSession'
import { useSessionEnd } from './access/useSessionEnd'
import { useShellOrigin } from './useShellOrigin'
import { useShortcuts } from './navigation/useShortcuts'
import { useTimeRange } from './time/useTimeRange'

/** The frame around every page. */
export function Shell(): ReactNode {
  const [navOpened, nav] = useDisclosure(false)
  const [searchOpened, search] = useDisclosure(false)
  const [helpOpened, help] = useDisclosure(false)
  const { isLive, setLive } = useTimeRange()
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

  useShortcuts({
    onSearch: search.open,
    onHelp: help.open,
    onLive: () => setLive(!isLive),
    onTheme: () => setColorScheme(scheme === 'dark' ? 'light' : 'dark'),
  })
  return (
    <AppShell
      header={{ height: 48 }}
      navbar={{ width: 184, breakpoint: 'sm', collapsed: { mobile: !navOpened } }}
      padding={0}
    >
      <a href="#main" className={classes.skip}>
        Skip to content
      </a>
      <HatchPattern />
      <AppShell.Header className={classes.surface}>
        <TopBar navOpened={navOpened} onNav={nav.toggle} onSearch={search.open} onShortcuts={help.open} />
      </AppShell.Header>
      <AppShell.Navbar className={classes.surface}>
        <Navigation onNavigate={nav.close} />
        <div className={classes.foot}>{status.data === undefined ? '\u00a0' : `Tierscope ${status.data.version}`}</div>
      </AppShell.Navbar>
      <AppShell.Main id="main" ref={main} tabIndex={-1} className={classes.frame}>
        {status.data?.simulated === true && <SimulatedBanner />}
        {path !== '/login' && (ended || session?.kind === 'nobody') && <LoginNotice ended={ended} />}
        <div className={classes.main}>
          <ExportOriginContext value={origin}>
            <Outlet />
          </ExportOriginContext>
        </div>
      </AppShell.Main>
      <SearchDialog opened={searchOpened} onClose={search.close} />
      <ShortcutsDialog opened={helpOpened} onClose={help.close} />
    </AppShell>
  )
}
