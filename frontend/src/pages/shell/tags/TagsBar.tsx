import { Pill } from '@mantine/core'
import { useMatches } from '@tanstack/react-router'
import { useTags } from './useTags'
import classes from './TagsBar.module.css'

/** Over a page that tags narrow: by which, and what on it tells of all hosts. */
export function TagsBar() {
  const { tags, setTags } = useTags()
  const narrows = useMatches({ select: (matches) => matches.at(-1)?.staticData.narrows })
  if (tags.length === 0) return null
  return (
    <div className={classes.bar} data-testid="tags-bar">
      <span>Only</span>
      {tags.map((tag) => (
        <Pill
          key={tag}
          withRemoveButton
          removeButtonProps={{ 'aria-label': `Show hosts without ${tag} again`, 'aria-hidden': false }}
          onRemove={() => setTags(tags.filter((other) => other !== tag))}
        >
          {tag}
        </Pill>
      ))}
      <span>{narrows ?? 'This page tells of what it names, whatever is chosen here.'}</span>
    </div>
  )
}
