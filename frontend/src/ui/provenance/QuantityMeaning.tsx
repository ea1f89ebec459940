import { Anchor, Text } from '@mantine/core'
import { findQuantity } from '../../lib/units/quantities'

/** What a figure is, and where its formula stands. */
export function QuantityMeaning({ definition }: { definition: string }) {
  const found = findQuantity(definition)
  if (found === undefined) return null
  return (
    <Text size="xs">
      {found.says}{' '}
      <Anchor href={`/docs/${found.page.replace(/\.md$/, '.html')}`} target="_blank" size="xs" underline="always">
        Formula, inputs and assumptions
      </Anchor>
    </Text>
  )
}
