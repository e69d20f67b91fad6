"""What every study needs: settings and results, a runner that resumes, a page."""
