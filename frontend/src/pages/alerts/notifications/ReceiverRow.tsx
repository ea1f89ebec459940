import { ActionIcon, Select } from '@mantine/core'
import { IconTrash } from '@tabler/icons-react'
import classes from './RoutesEditor.module.css'
import { receiverFields, receiverKinds, type ReceiverEntry } from './routesEntry'
import { SwitchField, TextField } from '../../../ui/inputs/fields'

interface ReceiverRowProps {
  receiver: ReceiverEntry
  onChange: (change: Partial<ReceiverEntry>) => void
  onRemove: () => void
}

const placeholders: Record<string, string> = {
  url: 'https://… or ${TIERSCOPE_SECRET_URL}',
  to: 'ops@example.com, more@example.com',
  token: '${TIERSCOPE_SECRET_TOKEN}',
  routing_key: '${TIERSCOPE_SECRET_KEY}',
  password: '${TIERSCOPE_SECRET_PASSWORD}',
  channel: '#memory',
}

/** One receiver in the editor: name, kind, and the settings of that kind. */
export function ReceiverRow({ receiver, onChange, onRemove }: ReceiverRowProps) {
  const names = [
    ...receiverFields[receiver.kind],
    ...receiverFields[receiver.kind]
      .map((name) => `${name}_file`)
      .filter((name) => receiver.settings[name] !== undefined),
  ]
  return (
    <div className={classes.row}>
      <TextField label="Name" w={160} maxLength={100} value={receiver.name} onText={(name) => onChange({ name })} />
      <Select
        label="Kind"
        w={130}
        value={receiver.kind}
        onChange={(value) => onChange({ kind: receiverKinds.find((kind) => kind === value) ?? 'webhook' })}
        data={receiverKinds}
      />
      {names.map((name) => (
        <TextField
          key={name}
          label={name.replaceAll('_', ' ')}
          w={250}
          placeholder={placeholders[name] ?? ''}
          value={receiver.settings[name] ?? ''}
          onText={(text) => onChange({ settings: { ...receiver.settings, [name]: text } })}
        />
      ))}
      {receiver.kind !== 'alertmanager' && (
        <SwitchField
          label="send resolved"
          checked={receiver.sendResolved}
          onChecked={(sendResolved) => onChange({ sendResolved })}
        />
      )}
      <ActionIcon aria-label={`Remove receiver ${receiver.name}`} onClick={onRemove}>
        <IconTrash size={14} />
      </ActionIcon>
    </div>
  )
}
