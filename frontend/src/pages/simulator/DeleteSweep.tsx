import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { Sweep } from '../../api/_generated/schema'
import { problemText } from '../../api/problem'
import { deleteSweep } from '../../api/queries/simulate/sweeps'
import { ConfirmDelete } from '../../ui/inputs/ConfirmDelete'

/** Deletes a sweep with its results, after asking. */
export function DeleteSweep({ sweep }: { sweep: Sweep }) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const deleting = useMutation(deleteSweep(queries))
  return (
    <ConfirmDelete
      what="this sweep"
      consequence="The sweep goes with all its results. The trace stays."
      pending={deleting.isPending}
      problem={deleting.error === null ? undefined : problemText(deleting.error)}
      onConfirm={() => deleting.mutate(sweep.id, { onSuccess: () => void navigate({ to: '/simulator' }) })}
    />
  )
}
