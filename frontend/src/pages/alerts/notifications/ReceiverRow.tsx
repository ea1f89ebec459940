import { ActionIcon, Select, Switch, TextInput } from '@mantine/core'
import { IconTrash } from '@tabler/icons-react'
import classes from './RoutesEditor.module.css'
import { receiverFields, receiverKinds, type ReceiverEntry } from './routesEntry'

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
      <TextInput
        label="Name"
        w={160}
        maxLength={100}
        value={receiver.name}
        onChange={(event) => onChange({ name: event.currentTarget.value })}
      />
      <Select
        label="Kind"
        w={130}
        allowDeselect={false}
        value={receiver.kind}
        onChange={(value) => onChange({ kind: receiverKinds.find((kind) => kind === value) ?? 'webhook' })}
        data={receiverKinds}
      />
      {names.map((name) => (
        <TextInput
          key={name}
          label={name.replaceAll('_', ' ')}
          w={250}
          placeholder={placeholders[name] ?? ''}
          value={receiver.settings[name] ?? ''}
          onChange={(event) => onChange({ settings: { ...receiver.settings, [name]: event.currentTarget.value } })}
        />
      ))}
      {receiver.kind !== 'alertmanager' && (
        <Switch
          size="xs"
          label="send resolved"
          checked={receiver.sendResolved}
          onChange={(event) => onChange({ sendResolved: event.currentTarget.checked })}
        />
      )}
      <ActionIcon aria-label={`Remove receiver ${receiver.name}`} onClick={onRemove}>
        <IconTrash size={14} />
      </ActionIcon>
    </div>
  )
}
