/** Leaves the dashboard for another page of this service. */
export function leaveTo(path: string): void {
  window.location.assign(path)
}
