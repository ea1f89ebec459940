import { Fragment } from 'react'

/** A setting's name or path, which breaks between its words where it is long. */
export function SettingName({ name }: { name: string }) {
  return (
    <span className="ts-mono">
      {name.split(/(?<=[/._])/).map((part, index) => (
        <Fragment key={index}>
          {index > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </span>
  )
}
