import {
  PasswordInput,
  Switch,
  Textarea,
  TextInput,
  type PasswordInputProps,
  type SwitchProps,
  type TextareaProps,
  type TextInputProps,
} from '@mantine/core'

type Telling<Props> = Omit<Props, 'onChange'> & { onText: (text: string) => void }

export function TextField({ onText, ...props }: Telling<TextInputProps>) {
  return <TextInput {...props} onChange={(event) => onText(event.currentTarget.value)} />
}

/** An input of several lines that tells its text. */
export function TextAreaField({ onText, ...props }: Telling<TextareaProps>) {
  return <Textarea {...props} onChange={(event) => onText(event.currentTarget.value)} />
}

export function PasswordField({ onText, ...props }: Telling<PasswordInputProps>) {
  return <PasswordInput {...props} onChange={(event) => onText(event.currentTarget.value)} />
}

export function SwitchField({
  onChecked,
  ...props
}: Omit<SwitchProps, 'onChange'> & { onChecked: (on: boolean) => void }) {
  return <Switch {...props} onChange={(event) => onChecked(event.currentTarget.checked)} />
}
