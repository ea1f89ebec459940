import { ActionIcon, Popover } from '@mantine/core'
import { IconHelp } from '@tabler/icons-react'
import { useState } from 'react'
import classes from './HowToRead.module.css'
import { readings, type ChartName } from './readings'

/** A button that says, in a few sentences, how a chart is read and where its method is written down. */
export function HowToRead({ chart, label }: { chart: ChartName; label: string }) {
  const [opened, setOpened] = useState(false)
  const { sentences, page } = readings[chart]
  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-end" trapFocus={opened} returnFocus>
      <Popover.Target>
        <ActionIcon
          aria-label={`How to read this: ${label}`}
          title="How to read this"
          aria-expanded={opened}
          onClick={() => setOpened(!opened)}
        >
          <IconHelp size={16} aria-hidden />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown className={classes.dropdown} tabIndex={-1} data-autofocus>
        <h3 className={classes.title}>How to read this</h3>
        {sentences.map((sentence) => (
          <p key={sentence} className={classes.text}>
            {sentence}
          </p>
        ))}
        <p className={classes.page}>
          Method: <code>{page}</code>
        </p>
      </Popover.Dropdown>
    </Popover>
  )
}
