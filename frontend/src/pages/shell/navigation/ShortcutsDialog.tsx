import { Modal } from '@mantine/core'
import { destinations } from './navigation'
import classes from './ShortcutsDialog.module.css'

const shortcuts: [string, string][] = [
  ['Ctrl K or /', 'find a service, host, rule, saved view or page'],
  ...destinations.map(({ key, label }): [string, string] => [`g ${key}`, `go to ${label}`]),
  ['l', 'live on or off'],
  ['d', 'dark or light theme'],
  ['k, Esc', 'kiosk: the page alone, and back'],
  ['Shift + click', 'chart over time: add a note at this time'],
  ['?', 'this list'],
  ['+ −, Ctrl + wheel', 'heatmap: zoom'],
  ['← → ↑ ↓', 'heatmap: pan'],
  ['0', 'heatmap: show all'],
  ['b', 'heatmap: select or pan'],
  ['Enter, Esc', 'heatmap: select the middle, clear'],
]

/** All keyboard shortcuts. */
export function ShortcutsDialog({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  return (
    <Modal opened={opened} onClose={onClose} title="Keyboard shortcuts" size={420}>
      <dl className={classes.list}>
        {shortcuts.map(([keys, effect]) => (
          <div key={keys} className={classes.line}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{effect}</dd>
          </div>
        ))}
      </dl>
    </Modal>
  )
}
