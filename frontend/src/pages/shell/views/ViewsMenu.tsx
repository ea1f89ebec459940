import { ActionIcon, Menu } from '@mantine/core'
import { useClipboard } from '@mantine/hooks'
import { IconBookmark, IconCheck, IconDeviceTv, IconLink, IconPinned, IconPlus } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { useState } from 'react'
import { viewsQuery } from '../../../api/queries/access/views'
import { pinnedAddress, savedAddress } from '../../../lib/url/viewAddress'

/** Saved views that the menu itself lists; the dialog has all. */
const mostListed = 10

interface ViewsMenuProps {
  onViews: () => void
  onKiosk: () => void
}

/** Links to what is shown, and saved views: open one, save this one, manage them. */
export function ViewsMenu({ onViews, onKiosk }: ViewsMenuProps) {
  const [opened, setOpened] = useState(false)
  const router = useRouter()
  const clipboard = useClipboard()
  const views = useQuery({ ...viewsQuery(), enabled: opened })
  const copy = (address: string) => clipboard.copy(`${window.location.origin}${address}`)
  const here = () => router.state.location.href
  return (
    <Menu position="bottom-end" width={260} opened={opened} onChange={setOpened}>
      <Menu.Target>
        <ActionIcon aria-label="Saved views and links" visibleFrom="xs" data-testid="views-menu">
          {clipboard.copied ? <IconCheck size={17} aria-hidden /> : <IconBookmark size={17} aria-hidden />}
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item leftSection={<IconLink size={14} aria-hidden />} onClick={() => copy(savedAddress(here()))}>
          Copy link
        </Menu.Item>
        <Menu.Item
          leftSection={<IconPinned size={14} aria-hidden />}
          onClick={() => copy(pinnedAddress(here(), Date.now() / 1000))}
        >
          Copy link with fixed times
        </Menu.Item>
        <Menu.Item leftSection={<IconDeviceTv size={14} aria-hidden />} onClick={onKiosk}>
          Kiosk
        </Menu.Item>
        <Menu.Divider />
        <Menu.Label>Saved views</Menu.Label>
        {views.data?.items.slice(0, mostListed).map((view) => (
          <Menu.Item key={view.id} onClick={() => router.history.push(view.address)}>
            {view.name}
          </Menu.Item>
        ))}
        <Menu.Item leftSection={<IconPlus size={14} aria-hidden />} onClick={onViews}>
          Save or manage views
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
