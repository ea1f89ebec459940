/** One block to copy. `where` says on which machine, `note` where its files come from. */
export interface InstallStep {
  title: string
  where: string
  note: string
  text: string
  /** The name of the file, where the block is one and not commands. */
  file?: string
}
