import { Prose } from './Prose'
import classes from './NotesList.module.css'

/** What a reader must know of the figures above. */
export function NotesList({ notes }: { notes: string[] | undefined }) {
  if (notes === undefined || notes.length === 0) return null
  return (
    <ul className={classes.notes} aria-label="Notes on these figures">
      {notes.map((note) => (
        <li key={note}>
          <Prose text={note} />
        </li>
      ))}
    </ul>
  )
}
