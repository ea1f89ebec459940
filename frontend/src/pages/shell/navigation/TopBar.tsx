import { ActionIcon, Burger, Button, Tooltip, useComputedColorScheme, useMantineColorScheme } from '@mantine/core'
import { IconBook, IconKeyboard, IconMoon, IconPlus, IconSearch, IconSun } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { AccountMenu } from '../access/AccountMenu'
import { TagsControl } from '../tags/TagsControl'
import { TimeRangeControl } from '../time/TimeRangeControl'
import { ViewsMenu } from '../views/ViewsMenu'
import classes from './TopBar.module.css'

interface TopBarProps {
  navOpened: boolean
  onNav: () => void
  onSearch: () => void
  onShortcuts: () => void
  onViews: () => void
  onKiosk: () => void
}

/** The bar over every page: search, time range, saved views and links, theme. */
export function TopBar({ navOpened, onNav, onSearch, onShortcuts, onViews, onKiosk }: TopBarProps) {
  const scheme = useComputedColorScheme('light')
  const { setColorScheme } = useMantineColorScheme()
  const other = scheme === 'dark' ? 'light' : 'dark'
  return (
    <div className={classes.bar}>
      <Burger opened={navOpened} onClick={onNav} hiddenFrom="sm" size="xs" aria-label="Navigation" />
      <Brand />
      <div className={classes.space} />
      <Button
        variant="default"
        classNames={{ root: classes.search, label: classes.searchLabel }}
        justify="space-between"
        leftSection={<IconSearch size={14} />}
        rightSection={<kbd className={classes.key}>Ctrl K</kbd>}
        onClick={onSearch}
        visibleFrom="sm"
      >
        Find a service, host, rule or page
      </Button>
      <ActionIcon onClick={onSearch} hiddenFrom="sm" aria-label="Find a service, host, rule or page">
        <IconSearch size={17} />
      </ActionIcon>
      <AddHosts />
      <TagsControl />
      <TimeRangeControl />
      <ViewsMenu onViews={onViews} onKiosk={onKiosk} />
      <Tooltip label="Documentation">
        <ActionIcon component="a" href="/docs/" target="_blank" aria-label="Documentation" visibleFrom="sm">
          <IconBook size={17} />
        </ActionIcon>
      </Tooltip>
      <Tooltip label="Keyboard shortcuts (?)">
        <ActionIcon aria-label="Keyboard shortcuts" onClick={onShortcuts} visibleFrom="sm">
          <IconKeyboard size={17} />
        </ActionIcon>
      </Tooltip>
      <Tooltip label={`Use the ${other} theme`}>
        <ActionIcon
          aria-label={`Use the ${other} theme`}
          onClick={() => setColorScheme(other)}
          data-testid="theme-toggle"
        >
          {scheme === 'dark' ? <IconSun size={17} /> : <IconMoon size={17} />}
        </ActionIcon>
      </Tooltip>
      <AccountMenu />
    </div>
  )
}

/** Leads to the page that adds hosts, from everywhere. */
function AddHosts() {
  return (
    <>
      <Button
        leftSection={<IconPlus size={14} aria-hidden />}
        renderRoot={(props) => <Link {...props} to="/add-hosts" />}
        visibleFrom="md"
      >
        Add hosts
      </Button>
      <Tooltip label="Add hosts">
        <ActionIcon renderRoot={(props) => <Link {...props} to="/add-hosts" />} hiddenFrom="md" aria-label="Add hosts">
          <IconPlus size={17} />
        </ActionIcon>
      </Tooltip>
    </>
  )
}

/** The product's mark and name: a link to the fleet. */
function Brand() {
  return (
    <Link to="/" className={classes.brand} aria-label="Tierscope, to the fleet">
      <svg width="20" height="20" viewBox="0 0 20 20" aria-hidden>
        <rect x="1" y="2" width="18" height="4" rx="1.2" fill="var(--ts-hot)" />
        <rect x="1" y="8" width="18" height="4" rx="1.2" fill="var(--ts-warm)" />
        <rect x="1" y="14" width="18" height="4" rx="1.2" fill="var(--ts-cold)" />
      </svg>
      <span className={classes.name}>Tierscope</span>
    </Link>
  )
}
