import { useQuery } from '@tanstack/react-query'
import { knobAdviceQuery } from '../../api/queries/knobs'
import { loadStateOf } from '../../api/queries/base/loadState'
import { KnobAdviceView } from '../knobs/KnobAdviceView'
import { NotesList } from '../../ui/text/NotesList'
import { useTimeRange } from '../shell/time/useTimeRange'
import { Stack } from '../../ui/layout/Stack'

/** Which settings of the host to change, and why. Nothing is ever changed from here. */
export function HostAdviceTab({ hostId }: { hostId: string }) {
  const { range } = useTimeRange()
  const query = useQuery(knobAdviceQuery(hostId, range))
  return (
    <Stack>
      <KnobAdviceView answer={query.data} load={loadStateOf(query)} />
      <NotesList notes={query.data?.notes} />
    </Stack>
  )
}
