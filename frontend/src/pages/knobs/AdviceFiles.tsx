import { Button, SegmentedControl } from '@mantine/core'
import { useClipboard } from '@mantine/hooks'
import { IconCheck, IconCopy, IconDownload } from '@tabler/icons-react'
import { useState } from 'react'
import type { KnobFiles } from '../../api/_generated/schema'
import { safeFileName } from '../../lib/export/csv'
import { downloadText } from '../../ui/export/download'
import classes from './KnobAdviceCard.module.css'

interface Form {
  key: Exclude<keyof KnobFiles, 'destinations'>
  label: string
  extension: string
}

const forms: Form[] = [
  { key: 'commands', label: 'Commands', extension: 'sh' },
  { key: 'sysctl', label: 'sysctl.d', extension: 'conf' },
  { key: 'tmpfiles', label: 'tmpfiles.d', extension: 'conf' },
  { key: 'udev', label: 'udev', extension: 'rules' },
  { key: 'systemd', label: 'systemd', extension: 'service' },
  { key: 'ansible', label: 'Ansible', extension: 'yml' },
  { key: 'check_commands', label: 'Check', extension: 'sh' },
  { key: 'rollback_commands', label: 'Rollback', extension: 'sh' },
  { key: 'forget_commands', label: 'Remove files', extension: 'sh' },
]

/** The change in the forms in which people roll changes out; nothing is applied from here. */
export function AdviceFiles({ rule, files }: { rule: string; files: KnobFiles }) {
  const offered = forms.filter(({ key }) => (files[key] ?? '') !== '')
  const [key, setKey] = useState<Form['key']>('commands')
  const clipboard = useClipboard()
  const form = offered.find((candidate) => candidate.key === key) ?? offered[0]
  if (form === undefined) return null
  const text = files[form.key] ?? ''
  const destination = files.destinations.find((candidate) => candidate.form === form.key)
  const name = safeFileName(`tierscope-${rule.toLowerCase()}${form.key === 'rollback_commands' ? '-rollback' : ''}`)
  return (
    <div className={classes.files}>
      <div className={classes.filesHead}>
        <SegmentedControl
          aria-label={`Form of the change ${rule}`}
          value={form.key}
          onChange={(value) => setKey(offered.find((candidate) => candidate.key === value)?.key ?? 'commands')}
          data={offered.map((candidate) => ({ value: candidate.key, label: candidate.label }))}
        />
        <div className={classes.buttons}>
          <Button
            variant="default"
            leftSection={clipboard.copied ? <IconCheck size={14} /> : <IconCopy size={14} />}
            onClick={() => clipboard.copy(text)}
          >
            {clipboard.copied ? 'Copied' : 'Copy'}
          </Button>
          <Button
            variant="default"
            leftSection={<IconDownload size={14} />}
            onClick={() => downloadText(`${name}.${form.extension}`, text, 'text/plain')}
          >
            Download
          </Button>
        </div>
      </div>
      <pre className={classes.code} tabIndex={0} aria-label={`${form.label} of ${rule}`}>
        {text}
      </pre>
      {destination !== undefined && (
        <p className={classes.dimmed}>
          Install as <code>{destination.path}</code>.
        </p>
      )}
    </div>
  )
}
